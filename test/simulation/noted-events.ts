/** Which branches of the rules the events of brokers and controller tell of. */
import type { ControllerEvent } from '../../src/replication/controller/controller-events.ts'
import type { BrokerNews } from '../../src/workers/broker-news.ts'
import type { Coverage } from './coverage.ts'

export function noteNews(coverage: Coverage, news: BrokerNews | undefined): void {
  if (news === undefined) return
  for (const event of news.events) {
    coverage.count(`leader: ${event.type}`)
    if (event.type === 'rejected') coverage.count(`leader: rejected, ${event.outcome}`)
    if (event.type === 'expandProposed') coverage.count(`expand in case ${event.caughtUpCase}`)
    if (event.type === 'shrinkCommitted' || event.type === 'expandCommitted') {
      coverage.count(`committed by ${event.cause} via ${event.via}`)
    }
  }
  if (news.catchUpReads.length > 0) coverage.count('catch-up read', news.catchUpReads.length)
  for (const { code, message } of news.failures) {
    coverage.count(`log failed: ${code}`)
    coverage.note(() => message)
  }
}

export function noteControllerEvents(coverage: Coverage, events: readonly ControllerEvent[]): void {
  for (const { kind, error, detail } of events) {
    coverage.count(`controller: ${kind}${error === undefined ? '' : ` ${error}`}`)
    if (kind !== 'elected') continue
    coverage.count('elected clean', (detail.elected ?? 0) - (detail.unclean ?? 0))
    coverage.count('elected unclean', detail.unclean ?? 0)
    coverage.count('elected nobody', detail.leaderless ?? 0)
  }
}

import { type Html, html } from './html.ts'

const terms: readonly (readonly [string, string])[] = [
  [
    'Leader and follower',
    'Each partition is a log with one leader, which takes the writes, and followers, which copy it byte for byte.',
  ],
  [
    'LEO, log end offset',
    'Number of the next record. It keeps moving while the load runs, so a follower has to catch a moving target.',
  ],
  [
    'ISR, in-sync replicas',
    'The replicas that may become leader without loss. The leader proposes a change, the controller checks and commits it.',
  ],
  [
    'HW, high watermark',
    'Everything below it is on all in-sync replicas: committed, and visible to consumers. It never goes back.',
  ],
  [
    'Lag limit',
    'replica.lag.time.max.ms. A follower that has lacked something for longer leaves the ISR; checked every half of it, hence 1.0 to 1.5 times.',
  ],
  [
    'Catching up',
    "The follower reads the leader's segment files in chunks until it meets the log end, then goes on from shared memory.",
  ],
]

/** For somebody who has never seen such a page. */
export function explanationSection(): Html {
  return html`<section aria-labelledby="how"><h2 id="how">How to read this</h2><div class="card prose">
<p>A cluster took a steady stream of records while one follower was taken away. For a while acks=all waits for it: that is the price of its promise. Then the lag limit runs out, the leader takes the follower out of the in-sync replicas, and the high watermark moves on without it. When the follower returns, it copies its backlog while new records keep arriving. Once it has reached the moving log end it is proposed, validated and committed back, partition by partition.</p>
<p>The prediction knows three things: how far behind the follower is, how fast the log end moves, and what one read costs (a fixed part plus bytes over bandwidth, fitted from the first reads of this very run). The naive figure is backlog over spare bandwidth; it ignores the fixed part, and is shown to tell how much that matters.</p>
<dl class="terms">${terms.map(([term, meaning]) => html`<div><dt>${term}</dt><dd>${meaning}</dd></div>`)}</dl></div></section>`
}

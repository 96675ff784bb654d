import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { repository } from '../support/source-files.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/** A program of somebody who uses the package; it prints one JSON document, or its error's code. */
async function runProgram(body: string): Promise<{ code: number | null; output: unknown }> {
  const directory = temporaryDirectory()
  const file = path.join(directory, 'program.mjs')
  const entry = JSON.stringify(path.join(repository, 'dist/index.js'))
  const text = `
    import { monitorEventLoopDelay } from 'node:perf_hooks'
    import { Cluster } from ${entry}
    const directory = ${JSON.stringify(path.join(directory, 'data'))}
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
    ${body}`
  fs.writeFileSync(file, text)
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (data) => {
    stdout += data
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, output: stdout === '' ? undefined : JSON.parse(stdout) }
}

describe('a process with a cluster', () => {
  it('ends by itself after close, and the directory is free', async () => {
    const { code, output } = await runProgram(`
      for (let life = 0; life < 2; life++) {
        const cluster = await Cluster.open({ directory, config: { 'ring.bytes': 1 << 20 } })
        if (life === 0) await cluster.createTopic('t', { partitions: 2 })
        const producer = cluster.producer()
        await producer.send({ topic: 't', partition: 1, value: 'x' })
        const records = cluster.consume({ topic: 't', partition: 1 })
        const { value } = await records.next()
        if (value.offset !== 0) throw new Error('offset ' + value.offset)
        if (life === 0) await cluster.pause(3)
        await cluster.close()
      }
      console.log(JSON.stringify('closed'))`)
    expect({ code, output }).toEqual({ code: 0, output: 'closed' })
  })

  it('ends by itself after open has failed', async () => {
    const { code, output } = await runProgram(`
      import fs from 'node:fs'
      fs.mkdirSync(directory + '/broker-2', { recursive: true })
      fs.writeFileSync(directory + '/broker-2/meta.properties', 'version=1\\nnode.id=7\\n')
      const failed = await Cluster.open({ directory }).then(() => 'opened', (error) => error.code)
      fs.rmSync(directory + '/broker-2', { recursive: true })
      const again = await Cluster.open({ directory })
      await again.close()
      console.log(JSON.stringify(failed))`)
    expect(code).toBe(0)
    expect(['INVALID_CONFIG', 'CORRUPT_FILE', 'INCONSISTENT_CLUSTER_ID']).toContain(output)
  })

  it('uses little of a core while a cluster of 1,000 partitions has nothing to do', async () => {
    const { output } = await runProgram(`
      const cluster = await Cluster.open({ directory, config: { 'partitions.max': 1024 } })
      await cluster.createTopic('t', { partitions: 1000, leaders: 'one' })
      let least = 1
      for (let second = 0; second < 10 && least >= 0.1; second++) {
        const before = process.cpuUsage()
        await sleep(1_000)
        const { user, system } = process.cpuUsage(before)
        least = Math.min(least, (user + system) / 1_000_000)
      }
      console.log(JSON.stringify(least))
      await cluster.close({ flush: false })`)
    // Of the quietest second: others on the machine make the same work cost more.
    expect(output).toBeLessThan(0.15)
  }, 60_000)

  it('keeps its event loop free while it produces hard', async () => {
    const { output } = await runProgram(`
      const cluster = await Cluster.open({ directory, config: { 'ring.bytes': 1 << 22 } })
      await cluster.createTopic('t', { partitions: 8 })
      const producer = cluster.producer({ bufferBytes: 4 << 20 })
      const value = Buffer.alloc(1_000, 'x')
      let acknowledged = 0
      let isOver = false
      const send = async () => {
        while (!isOver) {
          await producer.send({ topic: 't', value })
          acknowledged++
        }
      }
      const senders = Array.from({ length: 1_000 }, send)
      await sleep(500)
      const delay = monitorEventLoopDelay({ resolution: 5 })
      delay.enable()
      await sleep(1_500)
      delay.disable()
      isOver = true
      await Promise.all(senders)
      await cluster.close({ flush: false })
      const [p50, p99, max] = [50, 99, 100].map((p) => delay.percentile(p) / 1e6)
      console.log(JSON.stringify({ acknowledged, p50, p99, max }))`)
    const { acknowledged, p50, p99, max } = output as Record<string, number>
    expect(acknowledged).toBeGreaterThan(5_000)
    // A busy machine's scheduler has its share in the longest; blocking calls would show in the
    // others.
    expect(p50).toBeLessThan(25)
    expect(p99).toBeLessThan(300)
    expect(max).toBeLessThan(2_000)
  }, 60_000)
})

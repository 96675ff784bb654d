/**
 * Where Apache Kafka's jars are, and how they get there. The jars are a judge of our files and a
 * maker of test data; they are fetched by Maven on demand and never committed.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const repository = join(here, '..', '..')
const fetchTimeoutMs = 10 * 60_000

export const kafkaVersion = '4.4.0'
export const log4jConfig = join(here, 'log4j2.properties')

/** Directory that holds the jars once they are fetched; `TIDEMARK_KAFKA_HOME` overrides it. */
export function kafkaLibraryDirectory() {
  const home = process.env.TIDEMARK_KAFKA_HOME ?? join(repository, '.cache', 'kafka', kafkaVersion)
  return join(home, 'lib')
}

export function kafkaIsFetched() {
  return existsSync(join(kafkaLibraryDirectory(), `kafka_2.13-${kafkaVersion}.jar`))
}

/** Why Kafka cannot run or be fetched here, or undefined when it can. */
export function kafkaObstacle() {
  if (!answers('java', ['-version'])) return 'no java on the path (Java 17 or newer)'
  if (!kafkaIsFetched() && !answers('mvn', ['-version'])) {
    return `no Apache Kafka jars in ${kafkaLibraryDirectory()} and no mvn to fetch them`
  }
  return undefined
}

/**
 * Fetches the jars unless they are there. They are copied beside their place and renamed into it,
 * so that an interrupted fetch is never taken for a whole one.
 *
 * @throws {Error} with Maven's output when it fails
 */
export function fetchKafka() {
  const target = kafkaLibraryDirectory()
  if (kafkaIsFetched()) return { directory: target, jars: countJars(target), fetched: false }
  const partial = `${target}.partial-${process.pid}`
  mkdirSync(dirname(target), { recursive: true })
  try {
    const result = spawnSync(
      'mvn',
      [
        '-q',
        '-B',
        '-f',
        join(here, 'pom.xml'),
        `-Dkafka.version=${kafkaVersion}`,
        'dependency:copy-dependencies',
        `-DoutputDirectory=${partial}`,
      ],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: fetchTimeoutMs },
    )
    if (result.error !== undefined) throw result.error
    if (result.status !== 0) throw new Error(`mvn failed:\n${result.stdout}${result.stderr}`)
    moveIntoPlace(partial, target)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  return { directory: target, jars: countJars(target), fetched: true }
}

/** Starts soon, and never gets fast: for what runs a moment. */
const jvmForTools = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
/** As Kafka's own scripts start it: for what is measured. */
export const jvmForLoad = ['-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20']

/** Arguments for `java` up to and including the main class. */
export function javaArguments(mainClass, { heap = '512m', jvm = jvmForTools } = {}) {
  return [
    `-Xmx${heap}`,
    ...jvm,
    `-Dlog4j2.configurationFile=${log4jConfig}`,
    '-cp',
    join(kafkaLibraryDirectory(), '*'),
    mainClass,
  ]
}

/**
 * Two fetches at once: the one that is late finds the place taken by a whole one, which is as good.
 */
function moveIntoPlace(partial, target) {
  try {
    renameSync(partial, target)
  } catch (error) {
    if (kafkaIsFetched()) return
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    rmSync(target, { recursive: true, force: true })
    renameSync(partial, target)
  }
}

function answers(command, args) {
  const result = spawnSync(command, args, { stdio: 'ignore', timeout: 60_000 })
  return result.error === undefined && result.status === 0
}

function countJars(directory) {
  return readdirSync(directory).filter((name) => name.endsWith('.jar')).length
}

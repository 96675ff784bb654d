#!/usr/bin/env node
/**
 * Fetches Apache Kafka's jars through Maven into .cache/kafka (or TIDEMARK_KAFKA_HOME).
 *   node scripts/fetch-kafka.mjs
 */
import { fetchKafka, kafkaObstacle, kafkaVersion } from './kafka/kafka-home.mjs'

const obstacle = kafkaObstacle()
if (obstacle !== undefined) {
  process.stderr.write(`fetch-kafka: ${obstacle}\n`)
  process.exit(1)
}
try {
  const { directory, jars, fetched } = fetchKafka()
  const how = fetched ? 'fetched' : 'already there'
  process.stdout.write(`Apache Kafka ${kafkaVersion}: ${jars} jars in ${directory}, ${how}\n`)
} catch (error) {
  process.stderr.write(`fetch-kafka: ${error instanceof Error ? error.message : error}\n`)
  process.exit(1)
}

export const kafkaVersion: string
export const log4jConfig: string
export function kafkaLibraryDirectory(): string
export function kafkaIsFetched(): boolean
export function kafkaObstacle(): string | undefined
export function fetchKafka(): { directory: string; jars: number; fetched: boolean }
export const jvmForLoad: string[]
export function javaArguments(
  mainClass: string,
  options?: { heap?: string; jvm?: string[] },
): string[]

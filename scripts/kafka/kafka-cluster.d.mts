interface JavaOptions {
  readonly heap?: string
  readonly jvm?: string[]
}

interface ToolOptions {
  readonly input?: string
  readonly withErrors?: boolean
  readonly java?: JavaOptions
}

export function runTool(name: string, args: string[], options?: ToolOptions): string

export class KafkaCluster {
  static start(options: {
    readonly directory: string
    readonly brokers: number
    readonly clusterId: string
    readonly properties?: Record<string, string | number>
    readonly java?: JavaOptions
  }): Promise<KafkaCluster>
  get bootstrapServer(): string
  logDirectory(node: number): string
  tool(name: string, args: string[], options?: ToolOptions): string
  startNode(node: number): void
  waitForBrokers(count: number): Promise<void>
  pauseNode(node: number): void
  resumeNode(node: number): void
  stopNode(node: number): Promise<void>
  killNode(node: number): Promise<void>
  stop(): Promise<void>
}

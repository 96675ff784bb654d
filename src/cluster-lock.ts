/** A cluster's claim on its directory. */
import path from 'node:path'
import { realFileSystem } from './log/file-system.ts'
import { LogDirectory } from './log/log-directory.ts'
import { readMetaProperties } from './log/meta-properties.ts'
import { randomUuid } from './replication/controller/uuid.ts'

/** The controller's directory is locked under this node id; brokers have theirs from 1. */
const controllerNodeId = 3_000

/** @throws {TidemarkError} DIRECTORY_IN_USE and what else `LogDirectory.open` throws */
export function lockCluster(directory: string): LogDirectory {
  const own = path.join(directory, 'controller')
  const known = readMetaProperties(realFileSystem, path.join(own, 'meta.properties'))
  const clusterId = known?.clusterId ?? randomUuid()
  return LogDirectory.open({ directory: own, clusterId, nodeId: controllerNodeId })
}

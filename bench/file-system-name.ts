import { readFileSync, realpathSync } from 'node:fs'

/** Type and options of the file system that holds a path, as the system tells (Linux). */
export function fileSystemOf(path: string): string {
  try {
    const real = realpathSync(path)
    const mounts = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .filter(([, at]) => at !== undefined && (real === at || real.startsWith(withSlash(at))))
    const [, , type, options] = mounts.sort((one, other) => other[1]!.length - one[1]!.length)[0]!
    return `${type} (${options})`
  } catch {
    return 'unknown'
  }
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}

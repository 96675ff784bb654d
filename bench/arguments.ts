/** What `npm run bench` may be asked. */
import { Command, InvalidArgumentError } from 'commander'

export interface BenchArguments {
  /** Names, or parts of names; empty: all of a short run, or with `full` all. */
  readonly names: readonly string[]
  readonly full: boolean
  readonly minutes: number
  readonly out?: string
  readonly merge: boolean
  readonly compare?: string
  readonly failOnSlower: boolean
  readonly tables: boolean
}

/**
 * Ends the process where help is asked for or something is asked wrongly, which it says.
 *
 * @param names all that can be measured
 */
export function parseBenchArguments(
  args: readonly string[],
  names: readonly string[],
): BenchArguments {
  const command = new Command('npm run bench --')
    .description(
      'Measures, each thing beside its limit or its peer, and writes down what it found.',
    )
    .argument('[NAME...]', 'what to measure: names or parts of them; without any all, if short')
    .option('--full', 'steady figures instead of quick ones, and the long trials too', false)
    .option('--minutes <number>', 'how long cluster/sustained takes', minutesOf, 10)
    .option('--out <file>', 'where the results go; a page to read goes beside it')
    .option('--merge', 'keep the results of other suites that are in the file', false)
    .option('--compare <file>', 'tell what got slower or faster than in those results')
    .option('--fail-on-slower', 'exit code 1 if something did', false)
    .option('--tables', "README's tables and a page, from bench/results/performance.json", false)
    .addHelpText('after', `\nNames:\n${names.map((name) => `  ${name}`).join('\n')}`)
    .parse(args, { from: 'user' })
  return { ...command.opts<Omit<BenchArguments, 'names'>>(), names: command.args }
}

function minutesOf(text: string): number {
  const minutes = Number(text)
  if (minutes > 0 && Number.isFinite(minutes)) return minutes
  throw new InvalidArgumentError('Allowed are numbers above 0.')
}

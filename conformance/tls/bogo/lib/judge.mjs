// What a run means: which failures are known, which are not, and which entries of the list are out of date.

/**
 * Compares a run with the list. Gives the counts, `byDifference` and `byUnimplemented` (Maps from entries to numbers),
 * `unlisted` failures, and `problems`, one sentence each. With `filtered`, entries may match nothing.
 */
export function judge({ passed, failed, skipped, reasons }, known, filtered) {
  const problems = [];
  const unlisted = [];
  const byDifference = new Map(known.differences.map((entry) => [entry, 0]));
  const unused = new Set(known.differences.flatMap(({ globs }) => globs));
  for (const [name, error] of failed) {
    const entry = known.differenceOf(name);
    if (entry === null) {
      unlisted.push({ name, error });
      problems.push(`${name} fails and is not listed: ${firstLine(error)}`);
      continue;
    }
    byDifference.set(entry, byDifference.get(entry) + 1);
    for (const glob of entry.globs) if (glob.expression.test(name)) unused.delete(glob);
  }
  if (!filtered) for (const { glob } of unused) problems.push(`${glob} is listed and no such test fails`);
  const byUnimplemented = countReasons(reasons, known, problems, filtered);
  const listed = failed.size - unlisted.length;
  const ran = passed.size + failed.size;
  const summary = `${passed.size} of ${ran} pass, ${listed} differ as listed, ${unlisted.length} fail; ${skipped} not for this server`;
  return { passed, failed, skipped, listed, unlisted, byDifference, byUnimplemented, problems, summary };
}

function countReasons(reasons, known, problems, filtered) {
  const counts = new Map(known.unimplemented.map((entry) => [entry, 0]));
  for (const [reason, count] of reasons) {
    const entry = known.unimplemented.find(({ expressions }) => expressions.some((one) => one.test(reason)));
    if (entry === undefined) problems.push(`${count} tests are unimplemented for no listed reason: ${reason}`);
    else counts.set(entry, counts.get(entry) + count);
  }
  if (!filtered) {
    for (const [entry, count] of counts) {
      if (count === 0) problems.push(`no test asks for ${entry.asks.join(', ')}, which is listed as unimplemented`);
    }
  }
  return counts;
}

function firstLine(error) {
  return error.split('\n').map((line) => line.trim()).filter(Boolean).slice(0, 4).join(' ');
}

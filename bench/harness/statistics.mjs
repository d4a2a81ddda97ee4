/** Order statistics. Ratios of one round, then their median: the noise that both servers saw cancels out. */

/** Quantile with linear interpolation; NaN for no values. */
export function quantile(values, fraction) {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((one, other) => one - other);
  const position = (sorted.length - 1) * fraction;
  const low = Math.floor(position);
  return sorted[low] + (sorted[Math.ceil(position)] - sorted[low]) * (position - low);
}

export const median = (values) => quantile(values, 0.5);

/** Values of one server in all rounds that it finished. */
export function valuesOf(rounds, server, key) {
  return rounds.map((round) => round[server]?.[key]).filter((value) => value !== undefined);
}

/**
 * Ratios of two servers in the rounds that both finished (open loop: at the same rate).
 * @returns {{ median, low, high, count } | null} quartiles
 */
export function ratio(rounds, server, base, key) {
  const ratios = [];
  for (const round of rounds) {
    const [mine, other] = [round[server], round[base]];
    if (mine && other && mine.rate === other.rate) ratios.push(mine[key] / other[key]);
  }
  if (ratios.length === 0) return null;
  return {
    median: median(ratios), low: quantile(ratios, 0.25), high: quantile(ratios, 0.75), count: ratios.length,
  };
}

/** A copy in random order. */
export function shuffled(items) {
  const copy = [...items];
  for (let index = copy.length - 1; index > 0; index--) {
    const other = Math.floor(Math.random() * (index + 1));
    [copy[index], copy[other]] = [copy[other], copy[index]];
  }
  return copy;
}

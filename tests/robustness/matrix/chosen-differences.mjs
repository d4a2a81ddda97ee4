// Where rows differ from node:http on purpose, each with its reason. `matches` is asked about a difference
// ({ drive, field, portico, node }) and its row.

const CHOSEN = [];

/** Every reason, for the report of what was chosen and of what no row needs any more. */
export const REASONS = CHOSEN.map(({ reason }) => reason);

/** The reason why a difference is chosen; undefined if it is a fault. */
export function chosenFor(difference, row) {
  return CHOSEN.find(({ matches }) => matches(difference, row))?.reason;
}

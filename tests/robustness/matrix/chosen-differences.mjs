// Where rows differ from node:http on purpose, each with its reason. `matches` is asked about a difference
// ({ drive, field, portico, node }) and its row.

const isComplete = (answer) => /^(\d+ )+("|\d+ bytes)/.test(answer);

const CHOSEN = [
  {
    reason: 'what was received is answered before the peer’s end counts: where node:http loses an answer to the end of a client, or to a reset, it arrives',
    matches: ({ field, portico, node }, { behaviour }) => field.startsWith('answer') && isComplete(portico) && /none|cut short/.test(node) && !/destroy|socket-end|throws/.test(behaviour),
  },
  {
    reason: 'a head is the head of an answer: it differs where the answer does, and that is judged',
    matches: ({ field, portico, node }) => field.startsWith('head') && (portico === '' || node.split('  or  ').includes('') || node === 'Connection: close'),
  },
  {
    reason: 'a connection ends in order and what still comes is dropped within bounds, so that the last answer is not reset (RFC 9112, section 9.6)',
    matches: ({ field, portico, node }, { behaviour }) => field === 'end' && portico === 'ended' && node === 'reset' && !/destroy|iterator-left/.test(behaviour),
  },
  {
    reason: 'node:http hangs, and the newest one does not, or hangs too: the connection goes on or ends',
    matches: ({ field, portico, node }) => field === 'end' && portico !== 'hangs' && node.includes('hangs'),
  },
];

/** Every reason, for the report of what was chosen and of what no row needs any more. */
export const REASONS = CHOSEN.map(({ reason }) => reason);

/** The reason why a difference is chosen; undefined if it is a fault. */
export function chosenFor(difference, row) {
  return CHOSEN.find(({ matches }) => matches(difference, row))?.reason;
}

// Where rows differ from node:http on purpose. Each rule has its reason, and, unless a race decides, `example`, a row that differs so:
// matrix.test.mjs runs it (on `drive`, if not inline; on these `nodes`, if not all) and fails when it differs no more.
//
// `matches` is asked about a difference, `{ field, portico, node, outcome, outcomes }` (the values, and all that was
// observed on both sides), its row, and `ask`, which runs other rows on node:http.

import { parseRow } from './rows.mjs';

const isComplete = (answer) => /^(\d+ )+("|\d+ bytes)/.test(answer);
/** What the request behind the one under test is answered. */
const NEXT = ['200 "next of ROW"', '200 70000 bytes'];
/** What a request and its response tell that went well. */
const ENDED = ['end, close (complete ended)', 'finish, close (head ended finished)'];
const withSize = (row, size) => parseRow(row.name.replace(`/${row.size}/`, `/${size}/`));
const some = (outcomes, field, value) => outcomes.some((outcome) => outcome[field] === value);

/** All of the body has come with a head that tells its length, and its handler destroys it in the first turn. */
const isDestroyedWhole = ({ behaviour, arrival, framing }) => /^(((request|response|socket)-destroy)(-error|-soon)?|destroyed-then-answered)$/.test(behaviour)
  && ['at-once', 'half-close'].includes(arrival) && ['length', 'http10', 'http10-kept'].includes(framing);

const CHOSEN = [
  {
    reason: 'what was received is handed over and answered before the end of the peer counts: all is as if the client had kept its side open',
    example: { row: 'paused/70000/half-close/next/length/fast/watched', drive: 'threaded', nodes: ['26'] },
    async matches({ field, portico }, row, ask) {
      if (row.arrival !== 'half-close' || field === 'end') return false;
      // This client sends the same, but keeps its side open.
      const open = await ask.onStock(parseRow(row.name.replace('/half-close/', '/at-once/')));
      return some(open, field, portico);
    },
  },
  {
    reason: 'a connection ends in order and what still comes is dropped within bounds, so that the last answer is not reset (RFC 9112, section 9.6)',
    example: { row: 'pipeline-aborted/1500000/split/idle/expect/fast/watched', nodes: ['26'] },
    matches: ({ field, portico, node, outcome }, { behaviour }) => field === 'end' && portico === 'ended' && node === 'reset'
      // Where a pipe's target is destroyed, the connection is not.
      && isComplete(outcome['answer 1'].replace('100 ', '')) && (behaviour === 'pipe-destroyed' || !behaviour.includes('destroy')),
  },
  {
    reason: 'an answer arrives that node:http loses since it closes with bytes unread',
    // No example: how much node:http loses is a race.
    async matches({ field, portico }, row, ask) {
      if (!field.startsWith('answer') || !isComplete(portico)) return false;
      // It is the answer to the same request without a body, which leaves nothing unread, if nothing comes behind it.
      const bare = withSize(row, 0);
      if (some(await ask.onStock(bare), field, portico)) return true;
      return field === 'answer 1' && row.connection.startsWith('pipelined') && some(await ask.onStock(parseRow(bare.name.replace(`/${row.connection}/`, '/next/'))), field, portico);
    },
  },
  {
    reason: 'node:http of this version hangs: all is as on the newest one',
    example: { row: 'iterator-left-kept/65535/behind/pipelined-upload/chunked/fast/unwatched', nodes: ['20'] },
    async matches({ field, portico, outcomes }, row, ask) {
      if (!some(outcomes, 'end', 'hangs') || portico === 'hangs') return false;
      return some(await ask.onNewest(row), field, portico);
    },
  },
  {
    reason: 'node:http hangs on every version: the next request is answered, and the connection ends',
    example: { row: 'to-web-cancelled/65535/at-once/pipelined/trailers/fast/unwatched' },
    matches: ({ field, portico, outcome, outcomes }) => outcomes.every(({ end }) => end === 'hangs') && outcome.end === 'ended'
      && (field === 'end' || ENDED.includes(portico) || field.startsWith('answer') && NEXT.includes(portico) && !outcomes.some((other) => isComplete(other[field]))),
  },
  {
    reason: 'an answer that is destroyed while it waits for its turn ends the connection in its turn, and nothing of it is sent; Node 26 sends what was written of it, and hangs',
    example: { row: 'queued-response-destroy/65536/at-once/pipelined/length/fast/unwatched', nodes: ['26'] },
    matches: ({ portico, outcome, outcomes }, { behaviour }) => behaviour.startsWith('queued-response-destroy') && some(outcomes, 'end', 'hangs') && outcome.end === 'ended'
      && /^(none|ended|aborted, error ECONNRESET, close \(.*\))$/.test(portico),
  },
  {
    reason: 'what was answered to a request that waits behind another is handed over at once: a program that ends or destroys the socket later cannot take it back',
    example: { row: 'socket-end-after-answer/16384/at-once/pipelined/length/fast/watched' },
    matches: ({ field, portico, node, outcome }, { behaviour, connection }) => /^(socket-end-after-answer|answered-then-destroyed|iterator-left-answered)$/.test(behaviour)
      && field === 'answer 2' && connection.startsWith('pipelined') && node === 'none' && (NEXT.includes(portico) || portico === '200 cut short') && outcome.end !== 'hangs',
  },
  {
    reason: 'what a handler has written before it throws is sent; node:http has not yet handed it to the kernel',
    // No example: it depends on which parts of the body are read together.
    matches: ({ field, portico, node }, { behaviour }) => behaviour === 'throws-after-head' && field === 'answer 1'
      // Of an answer to HTTP/1.0, its connection's end is the end.
      && ['200 cut short', '200 "begun"'].includes(portico) && node === 'none',
  },
  {
    reason: 'behind a handler that threw what follows is refused with 400, and not only with the end of the connection',
    example: { row: 'throws/100/cut/next/http10/fast/watched', nodes: ['20'] },
    matches: ({ field, portico, node, outcome }, { behaviour, arrival }) => (/^throws-(after|in)-end$/.test(behaviour) || behaviour.startsWith('throws') && arrival === 'cut') && field.startsWith('answer')
      && portico === '400 0 bytes' && node === 'none' && outcome.end !== 'hangs',
  },
  {
    reason: 'the engine may read a body in more parts than node:http: the part behind that in which the handler threw is refused, as there if the body arrives in parts',
    async matches({ field, portico, outcomes }, row, ask) {
      if (row.behaviour !== 'throws-in-data' || row.arrival !== 'at-once' || !field.startsWith('answer') || !outcomes.every(({ end }) => end === 'hangs')) return false;
      return some(await ask.onStock(parseRow(row.name.replace('/at-once/', '/split/'))), field, portico);
    },
  },
  {
    reason: 'where so much waits behind a request that is never answered that nothing more is read, a client that leaves is noticed later',
    matches: ({ field, outcome, outcomes }, { behaviour, connection }) => behaviour === 'throws-in-end' && connection === 'pipelined-upload' && /^request|^response/.test(field)
      && outcome.end === 'hangs' && some(outcomes, 'end', 'hangs'),
  },
  {
    reason: 'of a body that is not read, node:http of this version may have read the last part though it keeps no more of it: the request counts as complete there, and its timeout ends the connection',
    example: { row: 'request-timeout/16384/at-once/idle/trailers/fast/unwatched', nodes: ['20'] },
    matches: ({ outcome, outcomes }, { behaviour, size }) => behaviour === 'request-timeout' && size >= 16_384 && size <= 65_536
      && outcome['answer 1'] === '408 "too slow"' && outcomes.every((other) => other['answer 1'] === 'none'),
  },
  {
    reason: 'data behind a request that was the last by its own word is dropped (RFC 9112, section 9.6); node:http refuses it, and with it what is not answered yet',
    example: { row: 'closing/16384/split/pipelined/trailers/fast/watched' },
    matches: ({ field, portico, node, outcome }, { behaviour, arrival, connection }) => behaviour.startsWith('closing') && connection.startsWith('pipelined') && outcome.end !== 'hangs'
      && (field === 'answer 1' ? (isComplete(portico) || arrival === 'half-close' && portico === 'none') && /^(100 )?400 |^200 cut short$/.test(node)
        : !field.startsWith('answer') && isComplete(outcome['answer 1'])),
  },
  {
    reason: 'behind a request whose upgrade is not wanted what follows is answered or refused; node:http drops it without a word',
    example: { row: 'upgrade-unwanted-unread/1/half-close/pipelined-upload/chunked/fast/unwatched' },
    // The engine refuses a body that is cut short, as behind any request.
    matches: ({ field, portico, node, outcome }, { behaviour, arrival }) => behaviour.startsWith('upgrade-unwanted') && (arrival === 'cut' && outcome['answer 1'].startsWith('400 ')
      ? field === 'answer 1' && node === 'none' || field === 'end' && portico === 'reset' && node === 'ended'
      : field === 'answer 2' && (NEXT.includes(portico) || portico === '400 0 bytes') && node === 'none'),
  },
  {
    reason: 'behind the last answer of a connection it is a race whether an unread body is told to its end',
    example: { row: 'response-destroy-after-end/70000/at-once/idle/http10-kept/fast/watched' },
    matches: ({ field, portico, node, outcome }) => field === 'request' && [`${portico}|${node}`, `${node}|${portico}`].includes(`|${ENDED[0]}`)
      && outcome.response === ENDED[1] && outcome.end === 'ended' && outcome['head 1'].includes('Connection: close'),
  },
  {
    reason: 'what a reader has left of a body is read behind the answer; node:http stops reading, and its keepAliveTimeout resets a client that still sends',
    example: { row: 'iterator-left-kept/300000/stalled/idle/chunked/fast/watched' },
    matches: ({ field, portico, node, outcome, outcomes }, { behaviour, arrival }) => behaviour === 'iterator-left-kept' && arrival === 'stalled' && field === 'request'
      && portico === ENDED[0] && node === '' && outcome.response === ENDED[1] && outcome.end === 'ended' && outcomes.every(({ end }) => end === 'reset'),
  },
  {
    reason: 'that a client has left is noticed though its body is not read; node:http has stopped reading',
    example: { row: 'unread-complete-200/70000/reset/next/http10/fast/watched', nodes: ['20'] },
    matches: ({ field, portico, node, outcome }) => /^request|^response/.test(field) && node.split('  or  ').includes('') && /close \(.*\)$/.test(portico)
      && outcome.end !== 'hangs' && outcome.request.includes('aborted'),
  },
  {
    reason: 'Node 24 frames what was written while corked wrongly, and the client reads another answer: all is as on the newest',
    example: { row: 'corked-end/70000/at-once/pipelined/expect/fast/watched', nodes: ['24'] },
    async matches({ field, portico }, row, ask) {
      if (row.behaviour !== 'corked-end') return false;
      return some(await ask.onNewest(row), field, portico);
    },
  },
  {
    reason: 'a host sends no interim answers to HTTP/1.0, which has none (RFC 9110, section 15.2)',
    example: { row: 'continue-again/0/behind/idle/http10-kept/fast/watched', drive: 'hosted' },
    matches: ({ drive, field, portico, node }, { framing }) => drive === 'hosted' && framing.startsWith('http10') && field === 'answer 1' && node.replace(/^1\d\d /, '') === portico,
  },
  {
    reason: 'node:http of this version has read less of a body when it is destroyed: all is as on the newest one, which keeps 64 KiB as Portico does',
    example: { row: 'short-answer-destroy/70000/at-once/next/trailers/fast/unwatched', nodes: ['20'] },
    async matches({ field, portico }, row, ask) {
      if (!ask.hasNewest || !/destroy|^abort-signal$/.test(row.behaviour) || field !== 'end' && field !== 'request') return false;
      return some(await ask.onNewest(row), field, portico);
    },
  },
  {
    reason: 'a client that leaves while its body is not read is noticed as on the newest Node: this version has stopped reading at 16 KiB',
    example: { row: 'unread-complete-200/65535/cut/next/http10/fast/watched', nodes: ['20'] },
    async matches({ field, portico }, row, ask) {
      if (!ask.hasNewest || row.arrival !== 'cut' || row.size < 32_768) return false;
      return some(await ask.onNewest(row), field, portico);
    },
  },
  {
    reason: 'an engine on a thread of its own and a host have read what node:http leaves unread in the kernel: what is destroyed later than at once, by a handler that threw, or '
      + 'before its length is known or its end has come, ends without a reset, and its request may be complete',
    example: { row: 'request-destroy-first-part/1/behind/pipelined-upload/length/fast/unwatched', drive: 'threaded' },
    matches: ({ drive, field, portico, node, outcome }, row) => drive !== 'inline' && /destroy|^throws-after-head$/.test(row.behaviour)
      && (field === 'end' && portico === 'ended' && node.split('  or  ').includes('reset') && !isComplete(outcome['answer 1']) && !isDestroyedWhole(row)
        || field === 'request' && portico.replace('end, ', '').replace('complete ', '').replace('ended ', '') === node),
  },
  {
    reason: 'a connection through a host is no member\'s whose requests have come and been answered in full: that its handler threw ends nothing, and the next request is served',
    // No example: if the next request reaches the member before the host hears of the failure, that is refused.
    matches: ({ drive, field, portico, outcome }, { behaviour }) => drive === 'hosted' && behaviour === 'throws-after-end' && field === 'answer 2'
      && NEXT.includes(portico) && isComplete(outcome['answer 1'].replace('100 ', '')),
  },
  {
    reason: 'an answer to a connection that the program has destroyed is not sent: it has no writableFinished; Node 20 says that it has',
    example: { row: 'destroyed-then-answered/70000/split/next/length/fast/watched', nodes: ['20'] },
    matches: ({ field, portico, node }) => field === 'response' && portico === 'close (head ended)' && node === 'close (head ended finished)',
  },
];

/** Every rule's example, with its reason. */
export const EXAMPLES = CHOSEN.filter(({ example }) => example).map(({ reason, example }) => ({ reason, ...example }));

/** Every reason. */
export const REASONS = CHOSEN.map(({ reason }) => reason);

/** The reason why a difference is chosen; undefined if it is a fault. */
export async function chosenFor(difference, row, ask) {
  for (const { reason, matches } of CHOSEN) if (await matches(difference, row, ask)) return reason;
  return undefined;
}

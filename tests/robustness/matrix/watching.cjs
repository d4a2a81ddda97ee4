'use strict';
// What a program sees of a row's exchange: the events of `req` and of `res`, in the order in which each had them, and
// their state when they closed.

const SETTLE_MS = 1_000;

const watched = new Map();

/** Starts to note the events of a row's request and response. */
function watch(row, request, response) {
  const notes = { request: [], response: [], open: 2 };
  watched.set(row, notes);
  const close = (list, words) => {
    list.push(`close (${words.filter(Boolean).join(' ')})`);
    notes.open -= 1;
  };
  request.on('end', () => notes.request.push('end'));
  request.on('aborted', () => notes.request.push('aborted'));
  request.on('error', (error) => notes.request.push(`error ${error.code ?? error.name}`));
  request.on('close', () => close(notes.request, [request.complete && 'complete', request.readableEnded && 'ended', request.aborted && 'aborted']));
  response.on('finish', () => notes.response.push('finish'));
  response.on('error', (error) => notes.response.push(`error ${error.code ?? error.name}`));
  response.on('close', () => close(notes.response, [response.headersSent && 'head', response.writableEnded && 'ended', response.writableFinished && 'finished']));
}

const rejections = new Map();

/** Notes that a row's handler failed after its first turn. */
function noteRejection(row, error) {
  rejections.set(row, `rejected ${error.code ?? error.name}`);
}

/** The notes of `rows`, once all have closed or time is up: `{ row: { request, response, handler } }`. */
async function report(rows) {
  const limit = Date.now() + SETTLE_MS;
  const isOpen = (row) => (watched.get(row)?.open ?? 0) > 0;
  while (rows.some(isOpen) && Date.now() < limit) await new Promise((resolve) => setTimeout(resolve, 20));
  return Object.fromEntries(rows.map((row) => {
    const notes = watched.get(row);
    watched.delete(row);
    const handler = rejections.get(row);
    rejections.delete(row);
    return [row, (notes || handler) && { request: notes?.request.join(', '), response: notes?.response.join(', '), handler }];
  }));
}

module.exports = { watch, noteRejection, report };

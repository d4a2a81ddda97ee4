// Scenarios in which Portico differs from node:http on purpose, each with its reason. The test then
// asserts that they do differ, so that an entry cannot outlive its cause.

export const chosen = new Map([
  ['bad-requests/unknown_coding_is_answered', 'RFC 9112 section 6.3: where chunked is not the last coding the length is unknown, so 400 at once; node:http calls the handler first'],
  ['ending/an_upgrade_that_is_not_wanted_and_what_follows_it', 'node:http drops what came with such a request without a word, requests included, and the connection hangs; ours answers requests and refuses garbage'],
  ['ending/an_upgrade_that_is_not_wanted_and_garbage_later', 'behind such a request node:http never tells of broken bytes, and the connection hangs; ours tells of them as of all others'],
]);

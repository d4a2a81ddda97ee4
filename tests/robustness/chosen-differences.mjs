// Scenarios in which Portico differs from node:http on purpose, each with its reason. The test then
// asserts that they do differ, so that an entry cannot outlive its cause.

export const chosen = new Map([
  ['bad-requests/two_hosts_is_answered', 'RFC 9112 section 3.2: a request with more than one Host gets 400; node:http takes the first'],
  ['bad-requests/two_hosts_is_reported', 'as above'],
  ['bad-requests/unknown_coding_is_answered', 'RFC 9112 section 6.3: where chunked is not the last coding the length is unknown, so 400 at once; node:http calls the handler first'],
  ['bad-requests/what_comes_after_an_error_is_an_error_again', 'after a parse error nothing on the connection can be trusted: one clientError for a connection, and what follows is dropped; node:http reports each later packet'],
]);

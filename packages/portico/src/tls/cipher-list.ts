/**
 * OpenSSL's cipher list language, evaluated over the suites that the engine has.
 *
 * A list is a sequence of elements, worked off from left to right on an ordered list of suites of which some are
 * active: `X` activates what matches X at the end, `-X` takes it out again, `+X` moves what is active to the end, `!X`
 * takes it out for good; `A+B` matches what A and B both match. Elements that match nothing are passed over, as
 * OpenSSL does, except a suite's full name: whoever names a suite that the engine doesn't have is told.
 * TLS 1.3 suites are only ever named, and are a list of their own (as in Node).
 */

import { TlsOptionError } from './errors';
import { TLS12_SUITES, TLS13_SUITES, type CipherSuite } from './cipher-suites';

/** What a cipher list comes to. */
export interface CipherChoice {
  /** In order of preference, TLS 1.3 first. */
  suites: CipherSuite[];
  /** Whether there is a TLS 1.2 suite among them. */
  tls12: boolean;
  /** `@SECLEVEL` of the list; 1 if it sets none (OpenSSL's default). */
  securityLevel: number;
}

/**
 * Evaluates the option `ciphers`.
 *
 * @param expression the option's value, already found good by OpenSSL
 * @param defaults `tls.DEFAULT_CIPHERS`: names in it that the engine doesn't have are passed over
 * @param known names of all suites that OpenSSL has (`tls.getCiphers()`, in any case)
 * @throws TlsOptionError for a named suite that the engine doesn't have, and if no suite is left
 */
export function evaluateCipherList(expression: string, defaults: string, known: ReadonlySet<string>): CipherChoice {
  const passedOver = expression.includes(defaults) ? new Set(elements(defaults)) : new Set<string>();
  const named13: string[] = [];
  const list: string[] = [];
  for (const element of elements(expression)) {
    if (/^!?TLS_/.test(element)) named13.push(element);
    else list.push(element);
  }
  const unsupported = [...named13, ...list].filter((name) => isUnsupportedName(name, known) && !passedOver.has(name));
  const tls13 = named13.length === 0 ? [...TLS13_SUITES] : pick13(named13);
  const level = list.map((element) => /^@SECLEVEL=(\d)$/.exec(element)?.[1]).findLast((found) => found !== undefined);
  const tls12 = evaluate12(list);
  if (unsupported.length > 0) throw unsupportedNames(unsupported, [...tls13, ...tls12]);
  if (tls13.length + tls12.length === 0 || (list.length > 0 && tls12.length === 0 && !onlyCommands(list))) {
    throw new TlsOptionError('ciphers', `('${expression}') leaves no TLS 1.2 cipher suite that Portico has`,
      `These are: ${TLS12_SUITES.map((suite) => suite.name).join(':')}.`);
  }
  return { suites: [...tls13, ...tls12], tls12: tls12.length > 0, securityLevel: level === undefined ? 1 : Number(level) };
}

/** Whether a list has nothing but commands and exclusions, so that it is not meant to choose suites. */
function onlyCommands(list: string[]): boolean {
  return list.every((element) => /^[@!+-]/.test(element));
}

/** A command (`@SECLEVEL=0`) may follow a name without a separator. */
function elements(expression: string): string[] {
  return expression.split(/[:;, ]+|(?=@)/).filter((element) => element !== '');
}

/** Whether an element is the name of a suite that OpenSSL has and the engine has not. */
function isUnsupportedName(element: string, known: ReadonlySet<string>): boolean {
  if (/^[!+@-]/.test(element)) return false;
  return known.has(element.toLowerCase()) && !TLS12_SUITES.some((suite) => suite.name === element)
    && !TLS13_SUITES.some((suite) => suite.name === element);
}

function unsupportedNames(names: string[], left: CipherSuite[]): TlsOptionError {
  return new TlsOptionError('ciphers', `names cipher suites that Portico doesn't have: ${names.join(', ')}`,
    left.length === 0
      ? `Choose among ${[...TLS13_SUITES, ...TLS12_SUITES].map((suite) => suite.name).join(':')}.`
      : `Without them the list is '${left.map((suite) => suite.name).join(':')}'.`);
}

function pick13(names: string[]): CipherSuite[] {
  return names.flatMap((name) => TLS13_SUITES.find((suite) => suite.name === name) ?? []);
}

/** A suite in the ordered list that the elements work on. */
interface Entry {
  suite: CipherSuite;
  active: boolean;
}

function evaluate12(list: string[]): CipherSuite[] {
  let entries: Entry[] = TLS12_SUITES.map((suite) => ({ suite, active: false }));
  for (const element of list) entries = apply(entries, element);
  return entries.filter((entry) => entry.active).map((entry) => entry.suite);
}

function apply(entries: Entry[], element: string): Entry[] {
  if (element.startsWith('@')) return element === '@STRENGTH' ? sortByStrength(entries) : entries;
  const operator = /^[!+-]/.exec(element)?.[0] ?? '';
  const matches = matcher(element.slice(operator.length));
  const hit = (entry: Entry): boolean => matches(entry.suite) && (operator === '!' || entry.active === (operator !== ''));
  const chosen = entries.filter(hit);
  const others = entries.filter((entry) => !hit(entry));
  switch (operator) {
    case '!': return others;
    // What is taken out goes to the front, so that it keeps its order if it is put in again.
    case '-': return [...chosen.map(({ suite }) => ({ suite, active: false })), ...others];
    default: return [...others, ...chosen.map(({ suite }) => ({ suite, active: true }))];
  }
}

function matcher(selectors: string): (suite: CipherSuite) => boolean {
  const parts = selectors.split('+');
  return (suite) => parts.every((part) => part === suite.name || suite.selectors.has(part));
}

/** Stable sort of the active suites by key length; ChaCha20 counts 256 bits. */
function sortByStrength(entries: Entry[]): Entry[] {
  const bits = (entry: Entry): number => (entry.suite.selectors.has('AES128') ? 128 : 256);
  const active = entries.filter((entry) => entry.active).sort((a, b) => bits(b) - bits(a));
  return [...entries.filter((entry) => !entry.active), ...active];
}

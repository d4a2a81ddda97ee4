/**
 * The engine's TLS contexts of one server: its own, those of `addContext`, and those that `SNICallback` hands over.
 *
 * A context is made when it is first needed and let go when nothing can name it any more. Connections that use one keep
 * it alive inside the engine.
 */

import type { SecureContext } from 'node:tls';
import type { Engine, TlsContextOptions } from '../native/binding';
import { contextOptions, serverSettings, type ServerFacts, type ServerSettings } from '../tls/context-options';
import { TlsOptionError } from '../tls/errors';
import { recordedOptions, type RecordedOptions } from '../tls/secure-context';

/** The contexts of one server in one engine. */
export class ServerContexts {
  readonly #engine: Engine;
  readonly #settings: ServerSettings;
  readonly #own: number;
  readonly #ownOptions: TlsContextOptions;
  /** By SecureContext, for those of `addContext` and `SNICallback`. */
  readonly #others = new WeakMap<object, { number: number; options: TlsContextOptions }>();
  /** Lets a context go when its SecureContext has been collected. */
  readonly #collector: FinalizationRegistry<number>;

  /**
   * @param options what the server's own SecureContext was made of
   * @throws TlsOptionError for what can't be honoured, and what the engine throws
   */
  constructor(engine: Engine, options: RecordedOptions, facts: ServerFacts) {
    this.#engine = engine;
    this.#settings = serverSettings(options, facts);
    this.#ownOptions = contextOptions(options, this.#settings);
    this.#own = engine.createTlsContext(this.#ownOptions);
    this.#collector = new FinalizationRegistry((context) => engine.releaseTlsContext(context));
  }

  /** Number of the server's own context. */
  get own(): number {
    return this.#own;
  }

  /** What the context for a SecureContext was made of; the server's own for undefined or one not used yet. */
  optionsOf(context: object | undefined): TlsContextOptions {
    return (context === undefined ? undefined : this.#others.get(context)?.options) ?? this.#ownOptions;
  }

  /**
   * Number of the context for a SecureContext.
   *
   * @param option for the error: where the SecureContext came from
   * @throws TlsOptionError if it was made before Portico was loaded, or of what can't be honoured
   */
  of(context: SecureContext | object, option: string): number {
    const known = this.#others.get(context);
    if (known !== undefined) return known.number;
    const options = contextOptions(recorded(context, option), this.#settings);
    const number = this.#engine.createTlsContext(options);
    this.#others.set(context, { number, options });
    this.#collector.register(context, number);
    return number;
  }

  /** Lets the server's own context go; the others follow their SecureContexts. */
  release(): void {
    this.#engine.releaseTlsContext(this.#own);
  }
}

/**
 * What a SecureContext was made of.
 *
 * @throws TlsOptionError if that is not known
 */
export function recorded(context: object, option: string): RecordedOptions {
  const options = recordedOptions(context);
  if (options === undefined) {
    throw new TlsOptionError(option, 'was given a SecureContext whose options are not known, because it was made before '
      + 'Portico was loaded or not by tls.createSecureContext', 'Load portico/register first, or make the context later.');
  }
  return options;
}

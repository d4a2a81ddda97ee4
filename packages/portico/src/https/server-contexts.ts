/**
 * The engine's TLS contexts of one server: its own, those of `addContext`, and those that `SNICallback` hands over.
 *
 * A context is made when it is first needed and let go when nothing can name it any more. Connections that use one keep
 * it alive inside the engine.
 */

import type { SecureContext } from 'node:tls';
import type { Engine } from '../native/binding';
import { contextOptions, serverSettings, type HandshakeSettings, type ServerSettings } from '../tls/context-options';
import { TlsOptionError } from '../tls/errors';
import type { SignatureSettings } from '../tls/keying';
import { recordedOptions, type RecordedOptions } from '../tls/secure-context';

/** A context of the engine, and what sockets tell of it. */
export interface EngineContext {
  readonly number: number;
  /** The first identity's certificates, leaf first, DER. Which of several was used is not told. */
  readonly chain: readonly Uint8Array[];
  /** DER. */
  readonly ca: readonly Uint8Array[];
  readonly signatures: SignatureSettings;
}

/** Lets contexts go whose SecureContext, or whose server, has been collected. */
const collector = new FinalizationRegistry<{ engine: Engine; context: number }>(({ engine, context }) =>
  engine.releaseTlsContext(context));

/** The contexts of one server in one engine. */
export class ServerContexts {
  readonly #engine: Engine;
  readonly #settings: ServerSettings;
  readonly #own: EngineContext;
  /** By SecureContext, for those of `addContext` and `SNICallback`. */
  readonly #others = new WeakMap<object, EngineContext>();

  /**
   * @param options what the server's own SecureContext was made of
   * @throws TlsOptionError for what can't be honoured, and what the engine throws
   */
  constructor(engine: Engine, options: RecordedOptions, handshake: HandshakeSettings) {
    this.#engine = engine;
    this.#settings = serverSettings(options, handshake);
    this.#own = this.#make(options);
    collector.register(this, { engine, context: this.#own.number }, this);
  }

  #make(options: RecordedOptions): EngineContext {
    const made = contextOptions(options, this.#settings);
    // The keys are the engine's from now on: they are not kept here.
    return {
      number: this.#engine.createTlsContext(made), chain: made.identities.at(0)?.chain ?? [], ca: made.ca,
      signatures: { allowed: made.signatureSchemes ?? [], honorCipherOrder: made.honorCipherOrder ?? true },
    };
  }

  /** Number of the server's own context. */
  get own(): number {
    return this.#own.number;
  }

  /** The context for a SecureContext; the server's own for undefined or one not used yet. */
  find(context: object | undefined): EngineContext {
    return (context === undefined ? undefined : this.#others.get(context)) ?? this.#own;
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
    const made = this.#make(recorded(context, option));
    this.#others.set(context, made);
    collector.register(context, { engine: this.#engine, context: made.number });
    return made.number;
  }

  /** Lets the server's own context go; the others follow their SecureContexts. */
  release(): void {
    collector.unregister(this);
    this.#engine.releaseTlsContext(this.#own.number);
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

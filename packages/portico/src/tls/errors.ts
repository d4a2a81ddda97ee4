/**
 * The one error that this package throws of its own about TLS options. What OpenSSL finds wrong is thrown by Node.
 */

/** Thrown for a TLS option that Portico can't honour. */
export class TlsOptionError extends Error {
  /** Stable: programs may compare it. */
  readonly code = 'ERR_PORTICO_TLS_OPTION';
  /** Name of the option, as in Node's documentation. */
  readonly option: string;

  /**
   * @param option name of the option, as in Node's documentation
   * @param why what can't be done, as a clause that follows the option's name
   * @param advice what to use instead, as a sentence
   */
  constructor(option: string, why: string, advice: string) {
    super(`The TLS option '${option}' ${why}. ${advice}`);
    this.name = 'Error';
    this.option = option;
    // As Node shows its own coded errors: "Error [CODE]: message" in the stack, plain "Error" as the name.
    this.stack = this.stack?.replace(/^Error/, `Error [${this.code}]`);
  }
}

/** Advice that ends most messages: the way back for one program. */
export const USE_NODE_TLS = 'Leave it out, or run this program with PORTICO_DISABLE=1 to keep node:https.';

import type { Transporter } from 'nodemailer';
import type { Config } from './config.js';
import type { Logger } from './log.js';

/** A plain-text e-mail. Its text may contain secrets and is never logged. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
}

export interface Mailer {
  /**
   * Returns true when the mail server has accepted the mail; false if none is configured. Throws if the server refuses
   * or cannot be reached.
   */
  send(mail: Mail): Promise<boolean>;
  close(): void;
}

/** Timeout of connecting, of the server's greeting and of each later answer, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** Creates a mailer over SMTP. Without `SMTP_URL` it logs each mail as not sent, without its text. */
export function createMailer(mail: Config['mail'], log: Logger): Mailer {
  if (!mail) return { send: async ({ to, subject }) => notSent(log, to, subject), close: () => undefined };
  let transport: Promise<Transporter> | null = null;
  return {
    async send({ to, subject, text }) {
      transport ??= openTransport(mail);
      await (await transport).sendMail({ to: { name: '', address: to }, subject, text });
      return true;
    },
    close: () => void transport?.then((open) => open.close()),
  };
}

/** Loads the library with the first mail, because many processes never send one. */
async function openTransport({ smtpUrl, from }: NonNullable<Config['mail']>): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  return createTransport(
    {
      url: smtpUrl.reveal(),
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      // Texts contain names that other people chose, so nothing in them may be fetched as a file or address.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  );
}

function notSent(log: Logger, to: string, subject: string): boolean {
  log.info({ to, subject }, 'no mail server is configured (SMTP_URL): an e-mail was not sent');
  return false;
}

/** Returns a time in a zone, such as `2026-11-21 13:05 (Africa/Lagos)`. For e-mails; the API uses UTC. */
export function localTime(time: Date, zone: string): string {
  // The Swedish date format is the ISO format.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  return `${format.format(time)} (${zone})`;
}

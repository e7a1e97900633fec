import type { Transporter } from 'nodemailer';
import type { Config } from './config.js';
import type { Logger } from './log.js';

/** A plain-text e-mail. Its text may hold secrets and is never logged. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
}

export interface Mailer {
  /**
   * Returns true when the mail server has accepted it; false if none is configured.
   * Throws if the server refuses or cannot be reached.
   */
  send(mail: Mail): Promise<boolean>;
  close(): void;
}

/** However slow a mail server is, one mail takes no longer than a few of these. */
const TIMEOUT_MS = 10_000;

/** Sends over SMTP; without `SMTP_URL` every mail is logged, without its text, as not sent. */
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

/** Loads the library with the first mail: many processes never send one. */
async function openTransport({ smtpUrl, from }: NonNullable<Config['mail']>): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  return createTransport(
    {
      url: smtpUrl.reveal(),
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      // Texts name services and commits of other people: nothing in them is a file or an address to fetch.
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

/** Returns a time as people of a zone read it, such as `2026-11-21 13:05 (Africa/Lagos)`. For e-mails: the API uses UTC. */
export function localTime(time: Date, zone: string): string {
  // The Swedish form of a date is the ISO one.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  return `${format.format(time)} (${zone})`;
}

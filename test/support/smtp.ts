import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

interface ReceivedMail {
  from: string;
  to: string[];
  subject: string;
  text: string;
}

export interface TestSmtp {
  url: string;
  mails: ReceivedMail[];
  /** While true, every mail is refused with a temporary error. */
  refuse(refusing: boolean): void;
  close(): Promise<void>;
}

/** Starts a mail server on a free port, which keeps the mails. */
export async function startSmtp(): Promise<TestSmtp> {
  const mails: ReceivedMail[] = [];
  let refusing = false;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (refusing) return callback(Object.assign(new Error('try again later'), { responseCode: 451 }));
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom ? mailFrom.address : '';
        mails.push({ from, to: rcptTo.map(({ address }) => address), ...parse(Buffer.concat(chunks).toString()) });
        callback();
      });
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve());
  });
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuse: (value) => {
      refusing = value;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function parse(message: string): { subject: string; text: string } {
  const [head = '', ...rest] = message.split('\r\n\r\n');
  const unfolded = head.replace(/\r\n[ \t]+/g, ' ');
  const [, subject = ''] = /^Subject: (.*)$/m.exec(unfolded) ?? [];
  const raw = rest.join('\r\n\r\n');
  const text = /^Content-Transfer-Encoding: quoted-printable/im.test(unfolded) ? quotedPrintable(raw) : raw;
  return { subject, text: text.replaceAll('\r\n', '\n') };
}

function quotedPrintable(text: string): string {
  const bytes = text
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** How a replica or command ended, in words that follow its name; the text is an exit code, "signal …" or "out-of-memory". */
export function exitDetail(text: string, memoryMb: number): string {
  if (text === 'out-of-memory') return `was killed: it used more than the ${memoryMb} MB of memory its plan allows`;
  if (text.startsWith('signal ')) return `was ended by ${text.slice('signal '.length)}`;
  return text === '' ? 'ended without an exit code' : `exited with code ${text}`;
}

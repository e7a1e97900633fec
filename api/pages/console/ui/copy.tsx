import { Button } from './button.js';
import { toast } from './toast.js';

/** Copies a text. Without TLS, browsers offer no clipboard, so the user is asked to copy by hand. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {
    toast('The browser blocked copying: select the text and copy it');
  }
}

/** A button that copies a text. `what` names the text for screen readers, such as "the URL". */
export function CopyButton({ text, what }: { text: string; what: string }) {
  return (
    <Button small aria-label={`Copy ${what}`} onClick={() => void copy(text)}>
      Copy
    </Button>
  );
}

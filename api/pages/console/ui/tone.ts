/** The tone of a status, which decides its colour and shape. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'plain';

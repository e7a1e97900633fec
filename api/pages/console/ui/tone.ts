export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'plain';

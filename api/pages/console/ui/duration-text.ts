/** Formats a duration: "0.4 s", "14 s", "3 min 5 s". */
export function durationText(milliseconds: number): string {
  if (milliseconds < 9950) return `${(Math.max(0, milliseconds) / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

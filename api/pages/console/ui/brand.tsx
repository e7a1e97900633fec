/** The logo: a nerve fibre with its nodes of Ranvier. */
export function Brand() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#4353d6" />
      <g fill="none" stroke="#fff" strokeWidth="2.6" strokeLinecap="round">
        <path d="M4 16h5M14 16h4M23 16h5" />
      </g>
      <g fill="#fff">
        <circle cx="11.5" cy="16" r="3.2" />
        <circle cx="20.5" cy="16" r="3.2" />
      </g>
    </svg>
  );
}

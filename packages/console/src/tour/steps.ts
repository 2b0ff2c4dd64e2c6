/** What the tour says: five things to try with the demo agent, each with the place to see it. */
export interface Step {
  readonly title: string
  readonly words: string
  /** To be sent in a conversation, as it stands. */
  readonly sentence?: string
  /** A fact to be told to the server, which makes the sentence come true. */
  readonly signal?: { readonly label: string; readonly fact: object }
  /** The page to see it on. */
  readonly place?: { readonly label: string; readonly address: string }
}

export const STEPS: readonly Step[] = [
  {
    title: 'It writes first',
    words:
      'Wakeful runs durable reminders, follow-ups and watches for agents. Talk to the demo agent, which needs no model. Send it this sentence, then wait ten seconds.',
    sentence: 'remind me in 10 seconds to stretch',
  },
  {
    title: 'It stops by itself',
    words:
      'Send hello and stay silent. It checks in after 20 seconds, three times, and the fourth is held back: at most three follow-ups in a row, at least 15 seconds apart. Reminders always come.',
    sentence: 'hello',
  },
  {
    title: 'It watches conditions',
    words:
      'Conditions work too, and survive a restart. Send this one, then let the price fall: it tells you at once. Recurring times work the same way: “every weekday at 8:30 plan the day”, “report daily at 6pm”.',
    sentence: 'tell me when NVDA is below 130',
    signal: {
      label: 'Let NVDA fall to 128',
      fact: { kind: 'price', ticker: 'NVDA', price: 128 },
    },
  },
  {
    title: 'You see it coming',
    words:
      'Home shows what needs you and what happens today, live. Amber always means that an agent did it on its own.',
    place: { label: 'Show Home', address: '/' },
  },
  {
    title: 'It can say why',
    words:
      'Each time an agent could have written, the outcome and its reason are kept: written, held back, not met, failed. Ask the demo agent, or look it up.',
    sentence: 'why did you not write?',
    place: { label: 'Show the reasons', address: '/activity' },
  },
]

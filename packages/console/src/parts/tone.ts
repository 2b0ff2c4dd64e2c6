/** What a colour says: nothing, well, on its own initiative, or not well. */
export type Tone = 'plain' | 'good' | 'own' | 'bad'

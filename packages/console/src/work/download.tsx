/** The file of a run, saved by the browser. It is fetched here, since a plain link carries no key. */
import { useMutation } from '@tanstack/react-query'
import { answerOf, Problem } from '../api/http.ts'
import { Button } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { type Output, sizeWords, type Work } from './shapes.ts'

export function Download({ work, output }: { work: Work; output: Output }) {
  const name = output.file_name ?? `run-${output.run_number}.${output.file_format ?? 'bin'}`
  const save = useMutation({
    mutationFn: async () => {
      const answer = await answerOf(`v1/work/${work.id}/outputs/${output.run_number}/file`)
      if (!answer.ok) throw new Problem(answer.status, 'The file could not be read', [])
      saveAs(await answer.blob(), name)
    },
  })
  return (
    <div className="flex flex-wrap items-center gap-3 px-4 pb-3 text-[13px]">
      <Button disabled={save.isPending} onClick={() => save.mutate()}>
        Download {name}
      </Button>
      {output.file_bytes !== null && (
        <span className="text-muted">{sizeWords(output.file_bytes)}</span>
      )}
      {save.error !== null && <Trouble error={save.error} />}
    </div>
  )
}

function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

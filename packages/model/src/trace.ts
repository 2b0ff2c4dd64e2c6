/**
 * A span around one call of a language model. It uses the process-wide tracer, since a model's client is often created
 * before the app; within a turn it is a child of that turn. Without tracing it only makes the call.
 */
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { errorText } from '../../../src/core/errors.ts'

export interface ModelCall {
  /** The provider, such as `openai`. */
  readonly provider: string
  readonly model: string
  /** The operation; default: `chat`. */
  readonly operation?: string
}

/** Taken from the answer. */
export interface ModelUsage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly finishReason?: string
}

export async function tracedModelCall<T>(
  call: ModelCall,
  ask: () => Promise<T>,
  usageOf: (answer: T) => ModelUsage = () => ({}),
): Promise<T> {
  const { provider, model, operation = 'chat' } = call
  const attributes = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': model,
    'langfuse.observation.type': 'generation',
  }
  const options = { kind: SpanKind.CLIENT, attributes }
  return trace
    .getTracer('wakeful')
    .startActiveSpan(`${operation} ${model}`, options, async (span) => {
      try {
        const answer = await ask()
        const { inputTokens, outputTokens, finishReason } = usageOf(answer)
        if (inputTokens !== undefined) span.setAttribute('gen_ai.usage.input_tokens', inputTokens)
        if (outputTokens !== undefined)
          span.setAttribute('gen_ai.usage.output_tokens', outputTokens)
        if (finishReason !== undefined)
          span.setAttribute('gen_ai.response.finish_reasons', [finishReason])
        return answer
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: errorText(error, 500) })
        throw error
      } finally {
        span.end()
      }
    })
}

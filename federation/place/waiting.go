package place

// Waiting returns copies of the first jobs of the queue, in order: at most that number.
func (w *World) Waiting(most int) (out []Waiting) {
	for q := range w.queue.all() {
		if len(out) == most {
			break
		}
		job := *q.job
		out = append(out, Waiting{Job: &job, Refused: w.refusedBy(q), Expected: q.expected})
	}
	return out
}

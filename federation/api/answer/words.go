package answer

import (
	"fmt"
	"strings"

	"fsub/federation"
)

// Bounds of what chooses jobs, nodes or events: each condition, and each of its values, is looked at for each of them.
const (
	mostConditions = 64
	mostValues     = 1024
)

// FewWords refuses conditions, or lists with commas, that take longer to look through than anybody needs them to. Lists of nodes and of job IDs count
// by what they stand for, and are not for this.
func FewWords(what string, texts []string) error {
	values := 0
	for _, text := range texts {
		values += 1 + strings.Count(text, ",")
	}
	if len(texts) > mostConditions || values > mostValues {
		return &federation.SlurmError{Kind: federation.ErrInvalid, Alone: true, Text: fmt.Sprintf("%s: %d conditions with %d values, at most %d and %d are allowed",
			what, len(texts), values, mostConditions, mostValues)}
	}
	return nil
}

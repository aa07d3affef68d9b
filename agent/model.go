package agent

import (
	"context"

	"github.com/whet-dev/whet"
)

// A Model takes turns in a conversation. There is one for each wire format.
type Model interface {
	// Name is "provider/model".
	Name() string
	// Turn returns the model's next message. piece hears it as it comes: kind
	// is "text" or "reasoning". An error may come with usage.
	Turn(ctx context.Context, r Request, piece func(kind, text string)) (Message, Usage, error)
}

// A Request is what a model is to answer.
type Request struct {
	System   string
	Messages []Message
	Tools    []whet.Tool
}

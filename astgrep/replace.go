package astgrep

import "context"

type Edit struct {
	Path     string
	Old, New []byte
}
type ReplaceOptions struct {
	Apply  bool
	Expect *int
	Commit func(context.Context, []Edit) error
}
type Replacement struct{}

func (r *Replacement) String() string { return "" }
func Replace(ctx context.Context, e Engine, q Query, o ReplaceOptions) (*Replacement, error) {
	return nil, nil
}

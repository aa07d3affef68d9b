package whet_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/whet-dev/whet"
)

// greeting is what a tool gives: its String is for the model, its JSON for machines.
type greetingOut struct {
	Name string `json:"name"`
}

func (g greetingOut) String() string { return "Hello, " + g.Name + "!" }

// A program of your own makes its own kit: any tools, any guards, any order.
func Example() {
	greet := whet.New("greet", "Greet someone.", func(_ context.Context, _ *whet.Call, in struct {
		Name  string `json:"name" doc:"whom to greet"`
		Times int    `json:"times,omitempty" doc:"how often" min:"1" max:"3"`
	},
	) (greetingOut, error) {
		return greetingOut{in.Name}, nil
	})
	polite := whet.Guard{
		Name: "polite",
		Before: func(_ context.Context, c *whet.Call) error {
			if strings.Contains(string(c.Args), "nobody") {
				return whet.Refuse("refused: there is nobody to greet; name someone")
			}
			return nil
		},
	}
	kit := &whet.Kit{Tools: []whet.Tool{greet}, Guards: []whet.Guard{polite}}

	for _, args := range []string{`{"name": "Ada"}`, `{"Name": "Ada", "times": "9"}`, `{"name": "nobody"}`, `{}`} {
		r, err := kit.Call(context.Background(), &whet.Call{Tool: "greet", Args: []byte(args)})
		if err != nil {
			fmt.Println("protocol error:", err)
			continue
		}
		fmt.Println(strings.ReplaceAll(r.Text, "\n\n", " | "))
	}
	// Output:
	// Hello, Ada!
	// Hello, Ada! | note: times 9 is over the maximum, used 3
	// refused: there is nobody to greet; name someone
	// greet: missing parameter "name" (whom to greet); example: {"name":"..."}
}

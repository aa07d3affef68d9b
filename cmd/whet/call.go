package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
)

func callCommand() *cobra.Command {
	var dir, agent, session string
	var asJSON bool
	c := &cobra.Command{
		Use:     "call TOOL [JSON|-]",
		Short:   "Use a tool exactly as an agent would, guards included",
		GroupID: "people",
		Long: `Use a tool exactly as an agent would, guards included.

The arguments are one JSON object, or - to read it from standard input. What
the agent would read goes to standard output. The exit status is 0 if the call
was done, 1 if the tool failed or a guard refused, 2 for a wrong command line.

With --session ID the guards remember earlier calls of the same ID.`,
		Example: `  whet call grep '{"pattern": "func main", "path": "cmd"}'
  echo '{"pattern": "TODO"}' | whet call grep - --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := open(c, dir)
			if err != nil {
				return err
			}
			call := &whet.Call{Tool: args[0], Session: p.session(session, agent)}
			if len(args) > 1 {
				if call.Args, err = arguments(c, args[1]); err != nil {
					return err
				}
			}
			r, err := p.kit.Call(c.Context(), call)
			if errors.Is(err, whet.ErrNoTool) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			return answer(c.OutOrStdout(), r, asJSON)
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			p, err := open(c, dir)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, t := range p.kit.Tools {
				names = append(names, t.Name+"\t"+t.Title())
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", "", "project `directory` (default the working directory)")
	f.StringVar(&agent, "agent", "", "call as this agent")
	f.StringVar(&session, "session", "", "call in the session of this `ID`")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON, with its data for machines")
	return c
}

// maxArgs bounds the arguments read from standard input, in bytes.
const maxArgs = 32 << 20

func arguments(c *cobra.Command, arg string) (json.RawMessage, error) {
	b := []byte(arg)
	if arg == "-" {
		var err error
		if b, err = io.ReadAll(io.LimitReader(input(c, "the arguments"), maxArgs+1)); err != nil {
			return nil, fmt.Errorf("reading the arguments: %w", err)
		}
		if len(b) > maxArgs {
			return nil, usageError{fmt.Errorf("the arguments are larger than %d MiB", maxArgs>>20)}
		}
	}
	if !json.Valid(b) {
		return nil, usageError{fmt.Errorf("the arguments are not valid JSON: %.60s", b)}
	}
	return b, nil
}

// answer prints the result and returns how the command should end.
func answer(w io.Writer, r *whet.Result, asJSON bool) error {
	var err error
	if asJSON {
		err = jsonLines(w).Encode(r)
	} else {
		_, err = fmt.Fprintln(w, shown(w, strings.TrimSuffix(r.Text, "\n")))
	}
	if err == nil && r.Failed {
		return exit(exitFailed)
	}
	return err
}

func toolsCommand() *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use: "tools", Short: "List the tools that an agent gets", GroupID: "people", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := open(c, dir)
			if err != nil {
				return err
			}
			if asJSON {
				return listJSON(c.OutOrStdout(), p.kit.Tools)
			}
			if len(p.kit.Tools) == 0 {
				_, err := fmt.Fprintln(c.OutOrStdout(), "no tools: all are disabled here (whet config show --origin says where)")
				return err
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, t := range p.kit.Tools {
				fmt.Fprintf(w, "%s\t%s\n", t.Name, t.Title())
			}
			return w.Flush()
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "project `directory` (default the working directory)")
	c.Flags().BoolVar(&asJSON, "json", false, "print names, texts and schemas as JSON")
	return c
}

func listJSON(w io.Writer, tools []whet.Tool) error {
	type row struct {
		Name        string       `json:"name"`
		Title       string       `json:"title"`
		Description string       `json:"description"`
		ReadOnly    bool         `json:"readOnly"`
		Input       *whet.Schema `json:"input"`
	}
	rows := []row{}
	for _, t := range tools {
		rows = append(rows, row{t.Name, t.Title(), t.Doc, t.ReadOnly, t.Input()})
	}
	return printJSON(w, rows)
}

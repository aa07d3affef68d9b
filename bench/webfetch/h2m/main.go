// H2m converts HTML with html-to-markdown, one JSON line in, one out. It is a
// module of its own so that whet doesn't depend on what it is compared with.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

func main() {
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin()))
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var job struct{ File string }
		if err := json.Unmarshal(in.Bytes(), &job); err != nil {
			fmt.Fprintln(os.Stderr, "h2m:", err)
			os.Exit(1)
		}
		html, err := os.ReadFile(job.File)
		if err != nil {
			fmt.Fprintln(os.Stderr, "h2m:", err)
			os.Exit(1)
		}
		start := time.Now()
		markdown, err := conv.ConvertString(string(html))
		if err != nil {
			markdown = ""
		}
		out, _ := json.Marshal(map[string]any{"ns": time.Since(start).Nanoseconds(), "markdown": markdown})
		fmt.Println(string(out))
	}
}

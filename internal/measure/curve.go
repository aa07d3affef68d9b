package measure

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Curve is how a cost grows, for some contenders.
type Curve struct {
	Title string
	X, Y  string // what the axes count
	Names []string
	rows  [][]float64 // x, then one for each name
}

// Add adds a point for every name. NaN says that it was not measured.
func (c *Curve) Add(x float64, ys ...float64) { c.rows = append(c.rows, append([]float64{x}, ys...)) }

// Write writes the curve as a Markdown table. If $WHET_CURVES names a directory
// the numbers go there too, as NAME.csv for bench/plot.
func (c *Curve) Write(w io.Writer, name string) error {
	fmt.Fprintf(w, "### %s\n\n%s\n\n", c.Title, c.Y)
	fmt.Fprintf(w, "| %s | %s |\n|---:%s|\n", c.X, strings.Join(c.Names, " | "), strings.Repeat("|---:", len(c.Names)))
	var out bytes.Buffer
	fmt.Fprintf(&out, "# title: %s\n# y: %s\n", c.Title, c.Y)
	t := csv.NewWriter(&out)
	_ = t.Write(append([]string{c.X}, c.Names...)) // to memory
	slices.SortStableFunc(c.rows, func(a, b []float64) int { return cmp.Compare(a[0], b[0]) })
	for _, row := range c.rows {
		cells := make([]string, len(row))
		for i, v := range row {
			if !math.IsNaN(v) {
				cells[i] = strconv.FormatFloat(v, 'g', 3, 64)
			}
		}
		cells[0] = strconv.FormatFloat(row[0], 'f', -1, 64)
		_ = t.Write(cells)
		for i, v := range cells {
			if i > 0 && v != "" {
				cells[i] = plainly(row[i])
			}
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintln(w)
	dir := os.Getenv("WHET_CURVES")
	if dir == "" {
		return nil
	}
	t.Flush()
	return os.WriteFile(filepath.Join(dir, name+".csv"), out.Bytes(), 0o644)
}

// plainly keeps three digits, without an exponent.
func plainly(v float64) string {
	digits := 0
	for x := math.Abs(v); x > 0 && x < 100 && digits < 6; x *= 10 {
		digits++
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

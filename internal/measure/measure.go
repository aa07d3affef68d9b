// Package measure times contenders side by side: in turns, in one run, so that
// what else the machine does falls on all alike. Only ratios are worth writing
// down.
package measure

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Contender is one way of doing the work.
type Contender struct {
	Name string
	Run  func() error // does the work once
}

// A Row is what was measured of one contender.
type Row struct {
	Name        string
	Median, Min time.Duration
	Ratio       float64 // of medians, to the first contender
	// CPU is the median of the CPU time that this process and the children it
	// waited for took, which other work on the machine moves less; 0 if the
	// system doesn't tell.
	CPU      time.Duration
	CPURatio float64
}

// Compare runs each contender once to warm up and then rounds times, in turns.
func Compare(rounds int, cs ...Contender) ([]Row, error) {
	times, cpus := make([][]time.Duration, len(cs)), make([][]time.Duration, len(cs))
	for round := range rounds + 1 {
		for i, c := range cs {
			start, before := time.Now(), cpu()
			if err := c.Run(); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if round > 0 {
				times[i] = append(times[i], time.Since(start))
				cpus[i] = append(cpus[i], cpu()-before)
			}
		}
	}
	rows := make([]Row, len(cs))
	for i, c := range cs {
		rows[i] = Row{Name: c.Name, Median: median(times[i]), Min: slices.Min(times[i]), CPU: median(cpus[i])}
		rows[i].Ratio = float64(rows[i].Median) / float64(rows[0].Median)
		if rows[0].CPU > 0 {
			rows[i].CPURatio = float64(rows[i].CPU) / float64(rows[0].CPU)
		}
	}
	return rows, nil
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// Print writes the rows as a Markdown table.
func Print(w io.Writer, title string, rows []Row) error {
	fmt.Fprintf(w, "### %s\n\n", title)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "|\t|\tmedian\t|\tmin\t|\tratio\t|\tCPU\t|\tCPU ratio\t|")
	fmt.Fprintln(t, "|---\t|\t---:\t|\t---:\t|\t---:\t|\t---:\t|\t---:\t|")
	for _, r := range rows {
		fmt.Fprintf(t, "|\t%s\t|\t%v\t|\t%v\t|\t%.2f\t|\t%v\t|\t%.2f\t|\n", r.Name, Round(r.Median), Round(r.Min), r.Ratio, Round(r.CPU), r.CPURatio)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// Round keeps three digits of a duration.
func Round(d time.Duration) time.Duration {
	for unit := time.Second; unit > time.Nanosecond; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100)
		}
	}
	return d
}

// Machine says in one line what the numbers were taken on.
func Machine() string {
	cpu := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

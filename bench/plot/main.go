// Plot draws the curves of docs/benchmarks: from NAME.csv it makes NAME.svg. The
// first lines of a file, "# title: ..." and "# y: ...", and its head say what it
// shows; both axes are logarithmic. It is a module of its own, so that nobody
// who imports whet gets a drawing library along.
//
//	go run -C bench/plot . FILE.csv ...
package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

func main() {
	for _, file := range os.Args[1:] {
		if err := draw(file); err != nil {
			fmt.Fprintf(os.Stderr, "bench/plot: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

func draw(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	p := plot.New()
	words := map[string]*string{"title": &p.Title.Text, "y": &p.Y.Label.Text}
	for {
		if b, err := in.Peek(1); err != nil || b[0] != '#' {
			break
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line[1:]), ": ")
		if w := words[key]; w != nil {
			*w = value
		}
	}
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil {
		return err
	}
	if len(rows) < 3 {
		return fmt.Errorf("want a head and two rows, have %d lines", len(rows))
	}
	p.X.Label.Text = rows[0][0]
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i, name := range rows[0][1:] {
		var points plotter.XYs
		for _, row := range rows[1:] {
			x, errX := strconv.ParseFloat(row[0], 64)
			y, errY := strconv.ParseFloat(row[i+1], 64)
			if errX == nil && errY == nil && x > 0 && y > 0 {
				points = append(points, plotter.XY{X: x, Y: y})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, marks.Color, marks.Shape = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i)
		line.Width = vg.Points(1.5)
		p.Add(line, marks)
		p.Legend.Add(name, line, marks)
	}
	p.X.Max *= 1.7 // room for the last label
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, strings.TrimSuffix(file, ".csv")+".svg")
}

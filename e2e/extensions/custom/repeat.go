package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/writ-automation/writ/cmd/cli"
	"github.com/writ-automation/writ/docs"
)

// many names the environment variable that makes this binary execute one command line for each line of its input, so
// that a test of hundreds of files starts one process.
const many = "WRIT_TEST_COMMANDS"

// answer is the result of a command line.
type answer struct {
	Code     int
	Out, Err []byte
}

// repeat reads command lines as lists in JSON and writes an answer to each.
func repeat(in io.Reader, out io.Writer) int {
	lines, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var args []string
		switch err := lines.Decode(&args); {
		case errors.Is(err, io.EOF):
			return 0
		case err != nil:
			return 1
		}
		a, err := captured(args)
		if err == nil {
			err = answers.Encode(a)
		}
		if err != nil {
			return 1
		}
	}
}

// captured executes a command line with standard streams of its own.
func captured(args []string) (a answer, err error) {
	dir, err := os.MkdirTemp("", "writ-command-")
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var files [2]*os.File
	for i, name := range []string{"out", "err"} {
		if files[i], err = os.Create(dir + "/" + name); err != nil {
			return a, err
		}
	}
	stdout, stderr, line := os.Stdout, os.Stderr, os.Args
	os.Stdout, os.Stderr, os.Args = files[0], files[1], append([]string{line[0]}, args...)
	a.Code = cli.Execute(docs.Pages)
	os.Stdout, os.Stderr, os.Args = stdout, stderr, line
	if err := errors.Join(files[0].Close(), files[1].Close()); err != nil {
		return a, err
	}
	if a.Out, err = os.ReadFile(dir + "/out"); err != nil {
		return a, err
	}
	a.Err, err = os.ReadFile(dir + "/err")
	return a, err
}

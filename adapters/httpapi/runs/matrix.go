package runs

import (
	"context"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// matrixForm describes the answer of a matrix.
const matrixForm = "Rows are hosts in the order of their first result, columns are tasks in the order of their " +
	"start. The matrix of a split or a pipeline is made of its shards or steps.\n\n" +
	"`cells` is base64 (RFC 4648, padded) of a list of pairs: one byte, the cell, then an unsigned LEB128 varint, how " +
	"many cells in a row have it. The cells go down the first column of the window, then down the next; a repetition " +
	"may cross from one column into the next. Decoded, there are as many cells as `tasks` times `names`.\n\n" +
	"Cells: 0 none, 1 ok, 2 changed, 3 skipped, 4 failed, 5 unreachable, 6 rescued, 7 ignored, 8 running.\n\n" +
	"`rev` grows with every event taken; of a run without children it is the last event's sequence number. With " +
	"`after_rev` an answer that holds nothing newer says `same` and leaves `names` and `cells` empty."

// deltaForm describes the deltas of a stream.
const deltaForm = "matrix has the changes of the run's matrix, at most ten times a second: `{since, rev, hosts, " +
	"tasks, " +
	"tasks_from, names, names_from, cells}`. `tasks` and `names` are those to append, `tasks_from` and `names_from` " +
	"where they " +
	"begin. `cells` is coded like that of `/matrix`, over all hosts as they are after the delta; a cell of 255 is " +
	"unchanged, " +
	"and so are all after the last. The first delta's `since` is `after`, so that it brings a matrix with that `rev` " +
	"up to date. `reload` alone means that too much changed: request `/matrix`. Of a split or a pipeline " +
	"the first delta brings the whole matrix, since 0, and so does every other one since 0."

// MatrixInput asks for a window of hosts.
type MatrixInput struct {
	ID       string        `path:"id"`
	From     httpapi.Count `query:"from" doc:"The first host of the window, from 0."`
	Count    httpapi.Count `query:"count" doc:"Hosts of the window; all from the first on unless given."`
	AfterRev httpapi.Count `query:"after_rev" doc:"The revision that the caller holds: one that is not newer answers without cells."`
}

// MatrixTaskBody is a column.
type MatrixTaskBody struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Play string `json:"play,omitempty"`
}

// MatrixBody is a window of a run's hosts against its tasks.
type MatrixBody struct {
	Tasks []MatrixTaskBody `json:"tasks"`
	Hosts int              `json:"hosts" doc:"The number of hosts of the whole matrix."`
	From  int              `json:"from"`
	Rev   int64            `json:"rev"`
	Same  bool             `json:"same,omitempty" doc:"Nothing is newer than after_rev."`
	Names []string         `json:"names"`
	Cells []byte           `json:"cells" doc:"Base64 of the window column by column, run-length coded: a cell's byte, then how often it repeats as an unsigned varint. 0 none, 1 ok, 2 changed, 3 skipped, 4 failed, 5 unreachable, 6 rescued, 7 ignored, 8 running."`
}

func matrixBody(m *runs.Matrix) MatrixBody {
	return MatrixBody{
		Tasks: columns(m.Tasks), Hosts: m.Hosts, From: m.From, Rev: m.Rev, Same: m.Same,
		Names: append([]string{}, m.Names...), Cells: append([]byte{}, m.Cells...),
	}
}

func (h *handlers) matrix(ctx context.Context, in *MatrixInput) (*httpapi.Output[MatrixBody], error) {
	q := runs.MatrixQuery{From: in.From.Int(), Count: in.Count.Int(), AfterRev: in.AfterRev.N}
	return httpapi.Show(matrixBody)(h.Insight.Matrix(ctx, in.ID, q))
}

// MatrixDeltaBody holds the changes of a matrix since a revision.
type MatrixDeltaBody struct {
	Since     int64            `json:"since"`
	Rev       int64            `json:"rev"`
	Reload    bool             `json:"reload,omitempty"`
	Hosts     int              `json:"hosts"`
	Tasks     []MatrixTaskBody `json:"tasks"`
	TasksFrom int              `json:"tasks_from"`
	Names     []string         `json:"names"`
	NamesFrom int              `json:"names_from"`
	Cells     []byte           `json:"cells"`
}

func matrixDelta(d *runs.MatrixDelta) MatrixDeltaBody {
	return MatrixDeltaBody{
		Since: d.Since, Rev: d.Rev, Reload: d.Reload, Hosts: d.Hosts, Tasks: columns(d.Tasks), TasksFrom: d.TasksFrom,
		Names: append([]string{}, d.Names...), NamesFrom: d.NamesFrom, Cells: append([]byte{}, d.Cells...),
	}
}

func columns(tasks []runs.MatrixTask) []MatrixTaskBody {
	return httpapi.Rows(tasks, func(t runs.MatrixTask) MatrixTaskBody { return MatrixTaskBody(t) })
}

package engine

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/provide"
	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// revokeTime bounds one attempt to revoke the secrets that were made for a run. The provider of secrets tries again
	// later.
	revokeTime = 5 * time.Second
	// revokeWait is how long a slot waits for that before it continues.
	revokeWait = 2 * time.Second
)

// owner identifies the owner of the job's secrets.
func (j *job) owner() secrets.Owner { return secrets.Owner{ID: j.lease.RunID, Epoch: j.lease.Epoch} }

// unlock fetches the secrets of the run's credentials; none for a run without any. A panic of a secret engine fails
// only its run.
func (w *work) unlock(ctx context.Context) (secrets.Injection, error) {
	ids := w.run.Spec.CredentialIDs
	if len(ids) == 0 {
		return secrets.Injection{}, nil
	}
	w.asked = true
	return provide.Secrets(ctx, w.e.Secrets, w.e.Redactor, w.owner(), w.run.Approvals, ids)
}

// inject stores secrets where the tool finds them.
func (w *work) inject(in secrets.Injection) error {
	if !w.asked {
		return nil
	}
	s, err := w.dir.Inject(w.run.Vars, in)
	if err != nil {
		return err
	}
	if err := w.startAgent(in.Keys, &s); err != nil {
		return err
	}
	vars, err := decode(w.run.Vars.Merge(s.Vars))
	if err != nil {
		return fmt.Errorf("read the variables of credentials: %w", err)
	}
	w.secrets, w.spec.ExtraVars, w.spec.Env = s, vars, w.dir.Env(w.e.base, w.run, s)
	if w.agent != nil {
		w.spec.Env["SSH_AUTH_SOCK"] = w.agent.Socket()
	}
	// A playbook's tool gets the paths of the passwords from its Play.
	if _, play := w.playbook(); !play && w.run.Kind != runs.Split {
		maps.Copy(w.spec.Env, rundir.LoginEnv(s.Login))
	}
	return nil
}

// startAgent starts the run's ssh agent if the run has keys. A play names the first key: it is the credential's.
func (w *work) startAgent(keys []secrets.Key, s *rundir.Secrets) error {
	if len(keys) == 0 {
		return nil
	}
	if w.e.Agents == nil {
		return &fault.Error{Kind: fault.Conflict, Message: "this executor cannot serve the private key of a credential"}
	}
	dir, err := w.dir.Agent()
	if err != nil {
		return err
	}
	if w.agent, err = w.e.Agents.Start(dir, w.client(), keys); err != nil {
		return fmt.Errorf("start the run's ssh agent: %w", err)
	}
	if public := w.agent.PublicKeys(); len(public) > 0 {
		s.Login.PublicKeyFile = public[0]
	}
	return nil
}

// client returns the account that uses the agent, the executor's own if the run has none.
func (w *work) client() *secrets.Client {
	if w.enclosed == nil {
		return nil
	}
	if uid, gid, ok := w.enclosed.Owner(); ok {
		return &secrets.Client{UID: uid, GID: gid}
	}
	return nil
}

// stopAgent ends the run's ssh agent.
func (w *work) stopAgent() {
	if w.agent == nil {
		return
	}
	if err := w.agent.Close(); err != nil {
		w.e.Log.Warn("end the ssh agent of a run", "run", w.lease.RunID, "error", err)
	}
	w.agent = nil
}

// strip removes secrets and begins to revoke those that were made for the run as soon as nothing needs them: storing
// the run's ending may take as long as the plane is unreachable.
func (w *work) strip() {
	w.stopAgent()
	if !w.asked {
		return
	}
	if err := w.dir.Strip(); err != nil {
		w.e.Log.Error("remove the secrets of a run", "run", w.lease.RunID, "error", err)
	}
	w.e.startRevoke(w.job)
}

// startRevoke begins to revoke the secrets that were made for a job, once.
func (e *Engine) startRevoke(j *job) {
	if j.revoked != nil {
		return
	}
	j.revoked = make(chan struct{})
	e.aux.Go(func() {
		defer close(j.revoked)
		ctx, cancel := context.WithTimeout(context.Background(), revokeTime)
		defer cancel()
		if err := provide.Release(ctx, e.Secrets, j.owner()); err != nil {
			e.Log.Error("revoke what was made for a run", "run", j.lease.RunID, "error", err)
		}
	})
}

// revoke revokes the secrets that were made for a job, however it ended. A long revocation continues during the next
// job.
func (e *Engine) revoke(j *job) {
	if !j.asked {
		return
	}
	e.startRevoke(j)
	t := time.NewTimer(revokeWait)
	defer t.Stop()
	select {
	case <-j.revoked:
	case <-t.C:
	}
}

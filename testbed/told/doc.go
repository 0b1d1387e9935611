// Package told is about what the federation tells by itself of jobs at real Slurm sites: mail by a real mail server, webhooks, and traces. Each comes once though a job was
// queued again and went to another site.
package told

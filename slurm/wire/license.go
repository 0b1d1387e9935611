package wire

// PathLicenses is the path of the licenses below /slurm/<version>.
const PathLicenses = "/licenses/"

// License is a counted right to use something.
type License struct {
	Name     string `json:"LicenseName"`
	Total    int64  `json:"Total"`
	Used     int64  `json:"Used"`
	Free     int64  `json:"Free"`
	Remote   bool   `json:"Remote"`
	Reserved int64  `json:"Reserved"`
}

// LicensesResponse answers GET /licenses/.
type LicensesResponse struct {
	Licenses   List[License] `json:"licenses"`
	LastUpdate Number        `json:"last_update"`
	Reply
}

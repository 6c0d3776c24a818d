package main

// catalogue is the document that the JSON workloads decode.
type catalogue struct {
	Total int    `json:"total"`
	Items []item `json:"items"`
}

type item struct {
	ID          int      `json:"id"`
	Name        string   `json:"name"`
	Price       float64  `json:"price"`
	IsAvailable bool     `json:"isAvailable"`
	Tags        []string `json:"tags"`
	Maker       maker    `json:"maker"`
}

type maker struct {
	ID      int    `json:"id"`
	Country string `json:"country"`
}

// isConsistent says whether it holds as much as it says, which a document decoded by mistake would not.
func (catalogue *catalogue) isConsistent() bool {
	return catalogue.Total == len(catalogue.Items) && catalogue.Total > 0
}

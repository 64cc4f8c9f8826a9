// The parts of Apache ECharts that sharebench reports use, as one browser global.
import { init, use } from 'echarts/core';
import { CustomChart, HeatmapChart, LineChart } from 'echarts/charts';
import { AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapPiecewiseComponent } from 'echarts/components';
import { SVGRenderer } from 'echarts/renderers';
use([CustomChart, HeatmapChart, LineChart, AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapPiecewiseComponent, SVGRenderer]);
export { init };
